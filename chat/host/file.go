package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Source is the origin of a configuration: a file and flags. Flags override the file.
type Source struct {
	File  string // "": none
	Flags []Flag
}

// Flag is a command-line flag that sets a key.
type Flag struct {
	Name string // "--name", for errors
	Key  string // key that it sets: "server.name"
	Set  func(*Config)
}

// Read reads and checks the configuration. Errors name the position in the file, or the flag. Paths
// in the file are relative to its folder.
func (s Source) Read() (Config, error) {
	var c Config
	var data []byte
	if s.File != "" {
		c.fileVersion = fileVersion(s.File)
		var err error
		if data, err = os.ReadFile(s.File); err != nil {
			return c, fmt.Errorf("read the configuration: %w", err)
		}
		if err := parse(data, &c); err != nil {
			return c, fmt.Errorf("%s:%w", s.File, err)
		}
		if err := c.acceptOldKeys(); err != nil {
			return c, s.locate(err, data)
		}
		for _, path := range []*string{&c.Data, &c.Server.MOTDFile, &c.TLS.Cert, &c.TLS.Key, &c.TLS.Store} {
			if *path != "" && !filepath.IsAbs(*path) {
				*path = filepath.Join(filepath.Dir(s.File), *path)
			}
		}
	}
	for _, f := range s.Flags {
		f.Set(&c)
	}
	err := c.Check()
	if err == nil {
		_, err = c.options() // reads the files that the configuration names
	}
	return c, s.locate(err, data)
}

// acceptOldKeys moves the values of keys in their old spelling to the present ones. A Problem says
// that the file has both.
func (c *Config) acceptOldKeys() error {
	for _, one := range []struct {
		prefix     string
		model, run *string
	}{{"", &c.Model, &c.Run}, {"tls.", &c.TLS.Model, &c.TLS.Run}} {
		if *one.model != "" && *one.run != "" {
			return &Problem{Key: one.prefix + "run", Text: "it is the old spelling of model, which the file has, too: remove run"}
		}
		*one.model += *one.run
		*one.run = ""
	}
	return nil
}

// locate adds the position to a Problem.
func (s Source) locate(err error, data []byte) error {
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		return err
	}
	if i := slices.IndexFunc(s.Flags, func(f Flag) bool { return f.Key == p.Key }); i >= 0 {
		return fmt.Errorf("%s: %s", s.Flags[i].Name, p.Text)
	}
	line, column, ok := position(data, p.Key)
	if old, isModel := strings.CutSuffix(p.Key, "model"); !ok && isModel {
		if line, column, ok = position(data, old+"run"); ok {
			p = &Problem{Key: old + "run", Text: p.Text}
		}
	}
	if ok {
		return fmt.Errorf("%s:%d:%d: %w", s.File, line, column, p)
	}
	return p
}

// parse decodes data into c. Its errors start with "LINE:COLUMN: ".
func parse(data []byte, c *Config) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(c)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		e := &strict.Errors[0]
		line, column := e.Position()
		return fmt.Errorf("%d:%d: the key %s is unknown: remove it, or write one of %s", line, column, strings.Join(e.Key(), "."), strings.Join(siblings(e.Key()), ", "))
	}
	if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := bad.Position()
		where := ""
		if len(bad.Key()) > 0 {
			where = strings.Join(bad.Key(), ".") + ": "
		}
		return fmt.Errorf("%d:%d: %s%s", line, column, where, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	if err != nil {
		return fmt.Errorf("1:1: %w", err)
	}
	return nil
}

// Keys returns all keys of a configuration, in order: "data", "listen", …, "server.name", ….
func Keys() []string { return keysOf(reflect.TypeFor[Config](), "") }

func keysOf(t reflect.Type, prefix string) (all []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch key := prefix + f.Tag.Get("toml"); {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct:
			all = append(all, keysOf(f.Type, key+".")...)
		default:
			all = append(all, key)
		}
	}
	return all
}

// siblings returns the keys that are valid in the place of an unknown one.
func siblings(key []string) []string {
	var all []string
	table := strings.Join(key[:len(key)-1], ".")
	for _, k := range Keys() {
		name, in := k, table == ""
		if !in {
			name, in = strings.CutPrefix(k, table+".")
		}
		if name, _, _ = strings.Cut(name, "."); in && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return []string{"the keys in docs/chat-config.md"}
	}
	return all
}

// position returns the line and column of a key.
func position(data []byte, key string) (line, column int, ok bool) {
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var words []string
		at := p.Shape(e.Raw).Start
		for it := e.Key(); it.Next(); {
			if len(words) == 0 {
				at = p.Shape(it.Node().Raw).Start
			}
			words = append(words, string(it.Node().Data))
		}
		name := strings.Join(words, ".")
		if e.Kind != unstable.KeyValue {
			table = name + "."
		} else {
			name = table + name
		}
		if name == key {
			return at.Line, at.Column, true
		}
	}
	return 0, 0, false
}
