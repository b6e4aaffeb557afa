// Command grpc-go serves the service helloworld.Greeter by grpc-go: by its own HTTP/2, or by that
// of net/http.
//
// Its messages have one string in field 1. So has google.protobuf.StringValue, whose generated code
// it uses for both.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// most threads that compute at once, as in every server of the workload grpc
	workers = 2
	// how long calls under way may take after SIGTERM
	finishing = 1500 * time.Millisecond
)

// greeter is the service.
type greeter struct{}

// SayHello answers "Hello " and the name.
func (greeter) SayHello(_ context.Context, name *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return wrapperspb.String("Hello " + name.Value), nil
}

// service describes greeter as generated code does.
var service = grpc.ServiceDesc{
	ServiceName: "helloworld.Greeter",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "SayHello", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		name := new(wrapperspb.StringValue)
		if err := decode(name); err != nil {
			return nil, err
		}
		return greeter{}.SayHello(ctx, name)
	}}},
}

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		die(2, err)
	}
	runtime.GOMAXPROCS(min(workers, runtime.GOMAXPROCS(0)))
	var listen net.ListenConfig
	listen.SetMultipathTCP(false) // all subjects listen with TCP
	l, err := listen.Listen(context.Background(), "tcp", c.listen)
	if err != nil {
		die(1, err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	serve := serveGRPC
	if c.overHTTP {
		serve = serveHTTP
	}
	if err := serve(ctx, c, l); err != nil {
		die(1, err)
	}
}

// serveGRPC serves by grpc-go's own HTTP/2 until ctx is done.
func serveGRPC(ctx context.Context, c config, l net.Listener) error {
	var options []grpc.ServerOption
	if c.cert != "" {
		secured, err := credentials.NewServerTLSFromFile(c.cert, c.key)
		if err != nil {
			return err
		}
		options = append(options, grpc.Creds(secured))
	}
	s := grpc.NewServer(options...)
	s.RegisterService(&service, greeter{})
	context.AfterFunc(ctx, func() {
		cut := time.AfterFunc(finishing, s.Stop)
		s.GracefulStop()
		cut.Stop()
	})
	if err := s.Serve(l); err != nil {
		return err
	}
	s.GracefulStop() // waits for the calls under way
	return nil
}

// serveHTTP serves by net/http until ctx is done.
func serveHTTP(ctx context.Context, c config, l net.Listener) error {
	calls := grpc.NewServer()
	calls.RegisterService(&service, greeter{})
	s := &http.Server{Handler: calls, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	over := make(chan error, 1) // the result of Serve
	go func() {
		if c.cert != "" {
			over <- s.ServeTLS(l, c.cert, c.key)
		} else {
			over <- s.Serve(l)
		}
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.Background(), finishing)
	defer cancel()
	_ = s.Shutdown(deadline) // unfinished calls are then cut off
	return nil
}

func die(status int, err error) {
	fmt.Fprintln(os.Stderr, "grpc-go:", err)
	os.Exit(status)
}
