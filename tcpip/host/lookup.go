package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// lookupFuncs has a lookup for each type of record.
var lookupFuncs = map[string]func(context.Context, *net.Resolver, string) ([]string, error){
	"A": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		return toStrings(func(a net.IP) string { return a.String() })(r.LookupIP(ctx, "ip4", name))
	},
	"AAAA": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		return toStrings(func(a net.IP) string { return a.String() })(r.LookupIP(ctx, "ip6", name))
	},
	"CNAME": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		c, err := r.LookupCNAME(ctx, name)
		return []string{c}, err
	},
	"MX": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		return toStrings(func(m *net.MX) string { return fmt.Sprintf("%d %s", m.Pref, m.Host) })(r.LookupMX(ctx, name))
	},
	"NS": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		return toStrings(func(n *net.NS) string { return n.Host })(r.LookupNS(ctx, name))
	},
	"PTR": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		return r.LookupAddr(ctx, name)
	},
	"SRV": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		_, all, err := r.LookupSRV(ctx, "", "", name)
		return toStrings(func(s *net.SRV) string { return fmt.Sprintf("%d %d %d %s", s.Priority, s.Weight, s.Port, s.Target) })(all, err)
	},
	"TXT": func(ctx context.Context, r *net.Resolver, name string) ([]string, error) {
		return r.LookupTXT(ctx, name)
	},
}

// toStrings converts the results of a lookup to text.
func toStrings[T any](text func(T) string) func([]T, error) ([]string, error) {
	return func(all []T, err error) (found []string, _ error) {
		for _, one := range all {
			found = append(found, text(one))
		}
		return found, err
	}
}

// LookupTypes returns the supported record types.
func LookupTypes() []string {
	var all []string
	for t := range lookupFuncs {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// lookup asks the host's DNS servers.
func (h *Host) lookup(ctx context.Context, name, kind string) ([]string, error) {
	look := lookupFuncs[strings.ToUpper(kind)]
	if look == nil {
		return nil, fmt.Errorf("host: unsupported record type %q: use one of %s", kind, strings.Join(LookupTypes(), ", "))
	}
	servers := h.stack.NameServers()
	if len(servers) == 0 {
		return nil, fmt.Errorf("host: cannot resolve %s: the host has no DNS server; give it one, or use an address", name)
	}
	records, err := look(ctx, h.stack.Resolver(), name)
	// the error names a server of the machine although the host's was asked
	if wrong, ok := errors.AsType[*net.DNSError](err); ok {
		ours := *wrong
		ours.Server = servers[0].String()
		err = &ours
	}
	return records, err
}
