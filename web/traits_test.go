package web_test

import (
	"reflect"
	"testing"

	"weir/web"
)

// traited is a component with the traits that it is.
type traited web.Traits

func (traited) Handle(*web.Conn)     {}
func (t traited) Traits() web.Traits { return web.Traits(t) }

func TestAComponentUnderAnotherNameKeepsItsOtherTraits(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[web.Traits]()) {
		var own web.Traits
		switch v := reflect.ValueOf(&own).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("x")
		case reflect.Int:
			v.SetInt(1)
		case reflect.Uint8:
			v.SetUint(1)
		}
		want := own
		want.Position = "site.hcl:1"
		if got := web.TraitsOf(web.WithTraits(traited(own), web.Traits{Position: "site.hcl:1"})); got != want {
			t.Errorf("%s: got the traits %+v, want %+v", field.Name, got, want)
		}
	}
}
