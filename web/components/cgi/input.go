package cgi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"weir/web"
)

// input is a request's body in an unlinked file. It is read before the program starts: the program
// gets its length, does not wait for a slow client, and never gets an incomplete body.
type input struct {
	file *os.File // nil: no body
	size int64    // -1: no body
}

// readInput reads the body, at most maxInput bytes, or answers the exchange with an error.
func readInput(c *web.Conn, maxInput int64) (in input, ok bool) {
	if c.RequestBodySize() == 0 {
		return input{size: -1}, true
	}
	if c.RequestBodySize() > maxInput {
		c.Answer(c.Fail(http.StatusRequestEntityTooLarge, tooLarge(maxInput)))
		return in, false
	}
	file, err := os.CreateTemp("", "weir-cgi-*")
	if err != nil {
		c.Answer(c.Fail(http.StatusInternalServerError, fmt.Errorf("cgi: the request's body cannot be stored: %w", err)))
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

// tooLarge returns the error of a body that is larger than maxInput.
func tooLarge(maxInput int64) error {
	return fmt.Errorf("cgi: the request's body is larger than max_input: %w", &http.MaxBytesError{Limit: maxInput})
}

// inputStatus returns the status for a body that cannot be read or stored.
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

// reader returns a reader of the body, or nil if there is none.
func (in input) reader() io.Reader {
	if in.file == nil {
		return nil
	}
	return in.file
}

// close removes the body.
func (in input) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}
