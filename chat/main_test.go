package chat

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	followEvery = 100 * time.Millisecond
	goleak.VerifyTestMain(m)
}
