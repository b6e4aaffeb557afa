package fabric

import (
	"reflect"
	"testing"
)

// A Path has all settings of an impairment but MaxFrame, in whose place it has an MTU, under their
// names; only Queue is shorter. None is lost on the way to the link.
func TestAPathIsItsImpairment(t *testing.T) {
	var p Path
	set(reflect.ValueOf(&p).Elem())
	i := reflect.ValueOf(p.impairment())
	for n := range i.NumField() {
		name := i.Type().Field(n).Name
		if name == "MaxFrame" {
			continue
		}
		from := name
		if name == "QueueBytes" {
			from = "Queue"
		}
		if of := reflect.ValueOf(p).FieldByName(from); !of.IsValid() || !of.Equal(i.Field(n)) || i.Field(n).IsZero() {
			t.Errorf("%s: got %v from a Path with %v, want the same", name, i.Field(n), of)
		}
	}
}

// set sets all fields of a struct to values that differ.
func set(v reflect.Value) {
	for n := range v.NumField() {
		switch f := v.Field(n); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1 / float64(n+2))
		case reflect.Struct:
			set(f)
		default:
			f.SetInt(int64(n + 1))
		}
	}
}
