package cgi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"weir/web"
)

// input is the body of a request, which was read before the program was started: it is told the
// length then, waits for no slow client, and sees no half of a body. The file has no name any more.
type input struct {
	file *os.File // nil: there is none
	size int64    // -1: there is none
}

// takeInput reads the body, of max bytes at most, or answers the exchange.
func takeInput(c *web.Conn, maxInput int64) (in input, ok bool) {
	if c.RequestBodySize() == 0 {
		return input{size: -1}, true
	}
	if c.RequestBodySize() > maxInput {
		c.Answer(c.Fail(http.StatusRequestEntityTooLarge, tooLarge(maxInput)))
		return in, false
	}
	file, err := os.CreateTemp("", "weir-cgi-*")
	if err != nil {
		c.Answer(c.Fail(http.StatusInternalServerError, fmt.Errorf("cgi: no place for the request's body: %w", err)))
		return in, false
	}
	_ = os.Remove(file.Name())
	in.file = file
	if in.size, err = io.Copy(file, io.LimitReader(c.RequestBody(), maxInput+1)); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil && in.size > maxInput {
		err = tooLarge(maxInput)
	}
	if err != nil {
		_ = file.Close()
		c.Answer(c.Fail(inputStatus(c, err), err))
		return in, false
	}
	return in, true
}

// tooLarge is the error of a body that is larger than that.
func tooLarge(maxInput int64) error {
	return fmt.Errorf("cgi: the request's body is larger than max_input: %w", &http.MaxBytesError{Limit: maxInput})
}

// inputStatus is what the client is told when its body can't be taken.
func inputStatus(c *web.Conn, err error) int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, ours := errors.AsType[*os.PathError](err)
	switch {
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case ours:
		return http.StatusInternalServerError
	case c.Context().Err() != nil:
		return web.StatusClientClosedRequest
	}
	return http.StatusBadRequest
}

// reader is the body to be read, nil when there is none.
func (in input) reader() io.Reader {
	if in.file == nil {
		return nil
	}
	return in.file
}

// close lets go of the body.
func (in input) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}
