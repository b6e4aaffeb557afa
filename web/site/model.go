package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir/serve"
	"weir/web"
	"weir/web/server"
)

// checkModel adds errors for a server's engine and concurrency model that do not exist, do not go
// together, or cannot run what the server has.
func (l *loader) checkModel(s *Service, servers int) {
	model, at := s.Model, l.attribute(s, "model")
	way, err := serve.ParseWay(model)
	switch {
	case s.Engine != "" && !slices.Contains(server.Engines(), s.Engine):
		l.addError(l.attribute(s, "engine"), "Invalid engine", fmt.Sprintf("engine is %q: write %s.", s.Engine, alternatives(server.Engines())))
		return
	case model != "" && err != nil:
		l.addError(at, "Invalid model", fmt.Sprintf("model is %q: write %s.", model, alternatives(serve.WayNames())))
		return
	case l.values.Engine == "" && l.values.Model == "": // the program checks its flags
		if err := server.Unsupported(s.Engine, way); err != nil {
			l.addError(at, "Model that cannot run", sentence(err))
			return
		}
	}
	if !serve.Ways[way].MultiProcess {
		return
	}
	what := ""
	switch {
	case servers > 1:
		what = fmt.Sprintf("The model %s is for one server, and the site file has %d: choose another model.", way, servers)
	case s.Admin != "":
		what = fmt.Sprintf("The model %s spreads connections over processes, and the admin page shows one: leave the attribute admin out.", way)
	case slices.ContainsFunc(s.TLS, func(t TLS) bool { return t.HTTP3 }):
		what = fmt.Sprintf("HTTP/3 has its connections in one process, and %s has several: leave http3 out, or choose another model.", way)
	case slices.ContainsFunc(s.TLS, func(t TLS) bool { return t.SelfSigned || len(t.ACME) > 0 }):
		what = fmt.Sprintf("Certificates by acme and self_signed are renewed in one process, and %s has several: use cert and key, or choose another model.", way)
	}
	if what != "" {
		l.addError(at, "Model that cannot run", what)
	}
}

// checkState adds an error for components that keep something in one process, by a model with
// several: that of the file, or that by which the server runs until a restart.
func (l *loader) checkState(s *Service, h *web.Handler) {
	models := []string{s.Model}
	if i := slices.Index(l.running, s.Name); i >= 0 && l.runningModels[i] != s.Model {
		models = append(models, l.runningModels[i])
	}
	for i, model := range models {
		way, err := serve.ParseWay(model)
		if err != nil {
			continue // it is the default, or checkModel has reported it
		}
		if err = server.UnsupportedState(h, way); err != nil {
			detail := sentence(err)
			if i > 0 {
				detail += " The model changes only when the program is restarted."
			}
			l.addError(l.attribute(s, "model"), "Model that cannot run", detail)
			return
		}
	}
}

// attribute returns the position of an attribute of a server: in its block, or that of the block,
// or the start of the file.
func (l *loader) attribute(s *Service, name string) hcl.Range {
	switch a := s.attributes[name]; {
	case a != nil:
		return a.SrcRange
	case s.at.Filename != "":
		return s.at
	}
	return l.fileStart
}

// sentence returns an error of package server as a sentence.
func sentence(err error) string { return strings.TrimPrefix(err.Error(), "server: ") + "." }

// alternatives returns names as a user may write them.
func alternatives(names []string) string {
	last := len(names) - 1
	return fmt.Sprintf(`"%s" or "%s"`, strings.Join(names[:last], `", "`), names[last])
}
