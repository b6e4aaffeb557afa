package proxy

import (
	"testing"

	"go.uber.org/goleak"

	"weir/web/internal/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(webtest.EachEngine{M: m}) }
