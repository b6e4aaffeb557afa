// Package web stands for the real one, where packages are found by their folders alone.
package web

import (
	"bufio"
	"context"
	"io"
	"net"
)

type Conn struct{ err error }

func (c *Conn) Path() string                             { return "" }
func (c *Conn) Context() context.Context                 { return nil }
func (c *Conn) SetStatus(int)                            {}
func (c *Conn) SetValue(key, v any)                      {}
func (c *Conn) Transform(Transform)                      {}
func (c *Conn) Before(func(*Conn))                       {}
func (c *Conn) After(func(*Conn))                        {}
func (c *Conn) Hijack(func(net.Conn, *bufio.ReadWriter)) {}
func (c *Conn) Drop(error)                               {}

type Body struct{}

func (b Body) OnClose(func()) Body { return b }

func String(string) Body                       { return Body{} }
func Stream(int64, func(io.Writer) error) Body { return Body{} }

type Transform func(next io.Writer) io.WriteCloser

func Piped(func(io.Writer, io.Reader) error) Transform { return nil }

type Component interface{ Handle(*Conn) }

type (
	Source func(*Conn) Body
	Filter func(*Conn) Transform
	Pipe   func(*Conn)
)

func (f Source) Handle(c *Conn) {}
func (f Filter) Handle(c *Conn) {}
func (f Pipe) Handle(c *Conn)   {}

func When(name string, is func(*Conn) bool, then Component) Component { return then }
