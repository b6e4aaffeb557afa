package programs

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"weir/tcpip/netsim"
)

// A gRPC client whose connection a partition has broken connects again by itself.
func TestGRPC(t *testing.T) {
	netsim.Run(t, netsim.Seeds(10), func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(server, client, netsim.Path{Delay: 10 * time.Millisecond, Loss: 0.02})
		server.Start(func(h *netsim.Host) error {
			l, err := h.Listen("tcp", ":50051")
			if err != nil {
				return err
			}
			s := grpc.NewServer()
			grpc_health_v1.RegisterHealthServer(s, health.NewServer())
			context.AfterFunc(h.Context(), s.Stop)
			return s.Serve(l)
		})
		dial := func(ctx context.Context, address string) (conn, error) {
			return client.DialContext(ctx, "tcp", address)
		}
		c, err := grpc.NewClient("passthrough:///server:50051", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		w.At(5*time.Second, func() { w.Partition(server, client) })
		w.At(2*time.Minute, w.Heal)
		for _, begin := range []time.Duration{0, 3 * time.Minute} {
			time.Sleep(begin - w.Elapsed())
			ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
			got, err := grpc_health_v1.NewHealthClient(c).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
			cancel()
			if err != nil || got.Status != grpc_health_v1.HealthCheckResponse_SERVING {
				w.Errorf("at %v: got %v and error %v, want SERVING", begin, got, err)
			}
		}
	})
}
