package basic

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"weir/web"
)

// RewriteConfig says how [Rewrite] changes the path: one that is From, or matches Pattern, becomes
// To; or a prefix is stripped or added, or both.
type RewriteConfig struct {
	From string `hcl:"from,optional"` // a path, to be replaced by To
	// a regular expression of package regexp for whole paths, to be replaced by To
	Pattern string `hcl:"pattern,optional"`

	// To is the new path, with $1 or ${name} for the groups of Pattern. With a ? in it, what
	// follows is the new query, with {query} for the old one; without, the query stays.
	To string `hcl:"to,optional"`

	// "/app" is taken off /app and /app/x, not off /apple
	StripPrefix string `hcl:"strip_prefix,optional"`
	// put before the path, stripped or not; with a StripPrefix, only where that was
	AddPrefix string `hcl:"add_prefix,optional"`
}

// Rewrite is a pipe that changes the path that the components behind it see. It looks at the path
// as one without . and .. and double slashes, and what it makes is one, too: no spelling of a path
// leads past a prefix, or out of one. Paths that it has no rule for stay as they are.
func Rewrite(cfg RewriteConfig) (web.Component, error) {
	whole, prefix := cfg.From != "" || cfg.Pattern != "", cfg.StripPrefix != "" || cfg.AddPrefix != ""
	switch {
	case whole == prefix:
		return nil, errors.New("rewrite: set from or pattern with to, or else strip_prefix or add_prefix; two changes are two components")
	case cfg.From != "" && cfg.Pattern != "":
		return nil, errors.New("rewrite: from and pattern are both set: leave one out")
	case whole && cfg.To == "":
		return nil, errors.New("rewrite: to is empty: write the new path")
	case prefix && cfg.To != "":
		return nil, errors.New("rewrite: to is set, but neither from nor pattern: it would never be used")
	case prefix:
		return rewritePrefix(cfg.StripPrefix, cfg.AddPrefix)
	}
	pattern := cfg.Pattern
	if cfg.From != "" {
		pattern = regexp.QuoteMeta(clean(cfg.From))
		cfg.To = strings.ReplaceAll(cfg.To, "$", "$$")
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("rewrite: pattern: %w", err)
	}
	toPath, toQuery, query := strings.Cut(cfg.To, "?")
	return named("rewrite", web.Pipe(func(c *web.Conn) {
		p := clean(c.Path())
		match := re.FindStringSubmatchIndex(p)
		if match == nil {
			return
		}
		raw := c.RawQuery()
		if query {
			raw = expandQuery(re, toQuery, p, match, raw)
		}
		c.Rewrite(clean(string(re.ExpandString(nil, toPath, p, match))), raw)
	})), nil
}

func rewritePrefix(strip, add string) (web.Component, error) {
	for setting, value := range map[string]string{"strip_prefix": strip, "add_prefix": add} {
		if value != "" && clean(value) != value {
			return nil, fmt.Errorf("rewrite: %s is %q: write a path from / on, without . and .. and double slashes", setting, value)
		}
	}
	strip, add = strings.TrimSuffix(strip, "/"), strings.TrimSuffix(add, "/")
	return named("rewrite", web.Pipe(func(c *web.Conn) {
		rest, ok := strings.CutPrefix(clean(c.Path()), strip)
		if ok && (rest == "" || rest[0] == '/') {
			c.Rewrite(clean(add+"/"+rest), c.RawQuery())
		}
	})), nil
}

// expandQuery fills the groups into a query, as parts of it that mean nothing there.
func expandQuery(re *regexp.Regexp, to, p string, match []int, old string) string {
	groups, at := "", make([]int, len(match))
	for i := 0; i < len(match); i += 2 {
		at[i], at[i+1] = -1, -1
		if match[i] >= 0 {
			at[i] = len(groups)
			groups += url.QueryEscape(p[match[i]:match[i+1]])
			at[i+1] = len(groups)
		}
	}
	return strings.ReplaceAll(string(re.ExpandString(nil, to, groups, at)), "{query}", old)
}

// clean is a path from / on, without . and .. and double slashes; a slash at its end stays.
func clean(p string) string {
	c := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}
