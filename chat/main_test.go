package chat

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	indexEvery = 100 * time.Millisecond
	goleak.VerifyTestMain(m)
}
