package basic

import (
	"net/http"

	"weir/web"
	"weir/web/components/internal/unit"
)

// LimitBodyConfig sets how large the body of a request may be.
type LimitBodyConfig struct {
	// Max is the largest size, in bytes or such as "10MB". Empty: "1MB".
	Max string `hcl:"max,optional"`
}

// LimitBody is a pipe that answers 413 when a request declares a larger body. Without a declared
// size, reading beyond the limit fails with [http.MaxBytesError], which the component that reads
// the body has to answer. It does not change an exchange that has an answer.
func LimitBody(cfg LimitBodyConfig) (web.Component, error) {
	maxSize, err := unit.Size("limit_body: max", cfg.Max, 1<<20)
	if err != nil {
		return nil, err
	}
	return named("limit_body", web.Pipe(func(c *web.Conn) {
		switch size := c.RequestBodySize(); {
		case c.Answered() || size == 0:
		case size > maxSize:
			c.Reply(http.StatusRequestEntityTooLarge)
		default:
			c.LimitRequestBody(maxSize)
		}
	})), nil
}
