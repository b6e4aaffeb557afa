package gallery

import (
	"testing"

	"go.uber.org/goleak"

	"weir/internal/chromium"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(chromium.Main(m)) }
