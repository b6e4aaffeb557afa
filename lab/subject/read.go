package subject

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// fileName is the file name of a subject's description.
const fileName = "subject.toml"

// defaultWarm is the default warm-up of a subject, in messages.
const defaultWarm = 2000

// Read reads one subject.toml. The file may be in any folder; a folder stands for the subject.toml
// in it. An error names the file, the line and the key, and says what to write instead.
func Read(file string) (*Subject, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, fileName)
	}
	data, err := readDescription(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: give the path of a subject.toml", file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the subject: %w", err)
	}
	s, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s%w", file, err)
	}
	s.place(file)
	return s, nil
}

// parse parses a description. Its errors start with ":LINE: ", so that a file name can be
// prepended.
func parse(data []byte) (*Subject, error) {
	s := &Subject{WarmMessages: defaultWarm, Ready: "listen", Contract: "full"}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(s)
	if err != nil {
		return nil, explain(err)
	}
	if s.Serves(stack) && s.Network == "" {
		s.Network = "tap"
	}
	if p := s.problem(); p != nil {
		return nil, fmt.Errorf(":%d: %s: %s%s", lineOf(data, p.key), p.key, p.text, forInstance(p.key))
	}
	return s, nil
}

// explain turns the decoder's errors into one sentence with a line and a remedy.
func explain(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := &strict.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf(":%d: unknown key %q: remove it, or write one of %s",
			line, strings.Join(e.Key(), "."), strings.Join(keys, ", "))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		text := strings.TrimPrefix(bad.Error(), "toml: ")
		if len(bad.Key()) > 0 {
			key := bad.Key()[0]
			return fmt.Errorf(":%d: %s: %s%s", line, key, text, forInstance(key))
		}
		return fmt.Errorf(":%d:%d: this is not TOML: %s", line, column, text)
	}
	return fmt.Errorf(":1: %w", err)
}

// lineOf returns the line of a top-level key; 1 if it is absent.
func lineOf(data []byte, key string) int {
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		it := e.Key()
		if it.Next() && strings.EqualFold(string(it.Node().Data), key) {
			return p.Shape(it.Node().Raw).Start.Line
		}
		if e.Kind != unstable.KeyValue {
			break // the following keys belong to a table
		}
	}
	return 1
}
