package httpload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// jsonField is a field of a JSON document and the value that it must have.
type jsonField struct {
	path []string // names of members and indices of elements
	want any      // as decodeJSON returns it
}

// parseJSONField parses "path=value", as Check.JSON describes it.
func parseJSONField(text string) (jsonField, error) {
	var f jsonField
	bad := fmt.Errorf("the JSON field %.60q is invalid: write path=value, such as user.name=Ann or items.0.id=7, in at most %d bytes", text, MaxPattern)
	if len(text) > MaxPattern {
		return f, bad
	}
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) || !strings.ContainsRune(`.=\`, rune(text[i])) {
				return f, bad
			}
			name.WriteByte(text[i])
		case '.':
			f.path = append(f.path, name.String())
			name.Reset()
		case '=':
			f.path = append(f.path, name.String())
			f.want = parseValue(text[i+1:])
			return f, nil
		default:
			name.WriteByte(text[i])
		}
	}
	return f, bad
}

// parseValue returns text as JSON if it is, else as a string.
func parseValue(text string) any {
	if v, err := decodeJSON([]byte(text)); err == nil {
		return v
	}
	return text
}

// decodeJSON decodes one JSON value with nothing after it. Its numbers are json.Number.
func decodeJSON(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it has more after its first value")
	}
	return v, nil
}

// check returns why document does not have the field, or "".
func (f jsonField) check(document any) string {
	at := document
	for i, name := range f.path {
		switch in := at.(type) {
		case map[string]any:
			value, ok := in[name]
			if !ok {
				return fmt.Sprintf("it has no member %.60q", strings.Join(f.path[:i+1], "."))
			}
			at = value
		case []any:
			k, err := strconv.Atoi(name)
			if err != nil || k < 0 || k >= len(in) {
				return fmt.Sprintf("it has no element %.60q", strings.Join(f.path[:i+1], "."))
			}
			at = in[k]
		default:
			return fmt.Sprintf("%.60q is neither an object nor an array", strings.Join(f.path[:i], "."))
		}
	}
	if !equalJSON(at, f.want) {
		got, _ := json.Marshal(at) //nolint:errcheck // it was decoded from JSON
		return fmt.Sprintf("its field %.60q is %.60s and not %.60s", strings.Join(f.path, "."), got, fmt.Sprint(f.want))
	}
	return ""
}

// equalJSON reports whether two values are equal. Numbers are compared by value: integers exactly,
// others as float64.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !equalJSON(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func equalNumbers(a, b json.Number) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(string(a), ".eE") && !strings.ContainsAny(string(b), ".eE") {
		return false
	}
	x, err := a.Float64()
	y, err2 := b.Float64()
	return err == nil && err2 == nil && x == y
}
