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

// RewriteConfig sets how [Rewrite] changes paths. A path that equals From or matches Pattern
// becomes To; or a prefix is stripped or added, or both.
type RewriteConfig struct {
	From string `hcl:"from,optional"` // From is a path that To replaces.
	// Pattern is a regular expression of package regexp. To replaces a path that matches as a
	// whole.
	Pattern string `hcl:"pattern,optional"`

	// To is the new path, with $1 or ${name} for the groups of Pattern. The part after a ? is the
	// new query, with {query} for the old one. Without a ?, the query stays.
	To string `hcl:"to,optional"`

	// StripPrefix is removed from the path: "/app" is stripped from /app and /app/x, not from
	// /apple.
	StripPrefix string `hcl:"strip_prefix,optional"`
	// AddPrefix is put before the path. With StripPrefix, only where that was stripped.
	AddPrefix string `hcl:"add_prefix,optional"`
}

// Rewrite is a pipe that changes the path for the components behind it. It matches the path without
// dot segments and double slashes, and its result has none either. So no spelling of a path can
// evade a rule or leave a prefix. Paths without a rule are unchanged.
func Rewrite(cfg RewriteConfig) (web.Component, error) {
	whole, prefix := cfg.From != "" || cfg.Pattern != "", cfg.StripPrefix != "" || cfg.AddPrefix != ""
	switch {
	case whole == prefix:
		return nil, errors.New("rewrite: set from or pattern with to, or else strip_prefix or add_prefix; two changes are two components")
	case cfg.From != "" && cfg.Pattern != "":
		return nil, errors.New("rewrite: from and pattern are both set: remove one")
	case whole && cfg.To == "":
		return nil, errors.New("rewrite: to is empty: write the new path")
	case prefix && cfg.To != "":
		return nil, errors.New("rewrite: to is set, but neither from nor pattern: set one of them")
	case prefix:
		return rewritePrefix(cfg.StripPrefix, cfg.AddPrefix)
	}
	pattern := cfg.Pattern
	if cfg.From != "" {
		pattern = regexp.QuoteMeta(cleanPath(cfg.From))
		cfg.To = strings.ReplaceAll(cfg.To, "$", "$$")
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("rewrite: pattern: %w", err)
	}
	toPath, toQuery, query := strings.Cut(cfg.To, "?")
	return named("rewrite", web.Pipe(func(c *web.Conn) {
		p := cleanPath(c.Path())
		match := re.FindStringSubmatchIndex(p)
		if match == nil {
			return
		}
		raw := c.RawQuery()
		if query {
			raw = expandQuery(re, toQuery, p, match, raw)
		}
		c.Rewrite(cleanPath(string(re.ExpandString(nil, toPath, p, match))), raw)
	})), nil
}

func rewritePrefix(strip, add string) (web.Component, error) {
	for setting, value := range map[string]string{"strip_prefix": strip, "add_prefix": add} {
		if value != "" && cleanPath(value) != value {
			return nil, fmt.Errorf("rewrite: %s is %q: write a path that begins with /, without . and .. and double slashes", setting, value)
		}
	}
	strip, add = strings.TrimSuffix(strip, "/"), strings.TrimSuffix(add, "/")
	return named("rewrite", web.Pipe(func(c *web.Conn) {
		rest, ok := strings.CutPrefix(cleanPath(c.Path()), strip)
		if ok && (rest == "" || rest[0] == '/') {
			c.Rewrite(cleanPath(add+"/"+rest), c.RawQuery())
		}
	})), nil
}

// expandQuery fills the groups of Pattern into a query, escaped so that they cannot add parameters.
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

// cleanPath returns an absolute path without dot segments and double slashes. It keeps a final
// slash.
func cleanPath(p string) string {
	c := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}
