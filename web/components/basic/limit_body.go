package basic

import (
	"net/http"

	"weir/web"
	"weir/web/components/internal/unit"
)

// LimitBodyConfig says how large the body of a request may be.
type LimitBodyConfig struct {
	Max string `hcl:"max,optional"` // in bytes, or such as "10MB"; empty: 1 MB
}

// LimitBody is a pipe that answers by 413 when the request says that its body is larger. When it
// does not say, reading beyond the limit is an [http.MaxBytesError], which whoever reads the body
// has to answer. Answers that are there are left alone.
func LimitBody(cfg LimitBodyConfig) (web.Component, error) {
	most, err := unit.Size("limit_body: max", cfg.Max, 1<<20)
	if err != nil {
		return nil, err
	}
	return named("limit_body", web.Pipe(func(c *web.Conn) {
		switch size := c.RequestBodySize(); {
		case c.Answered() || size == 0:
		case size > most:
			c.Reply(http.StatusRequestEntityTooLarge)
		default:
			c.LimitRequestBody(most)
		}
	})), nil
}
