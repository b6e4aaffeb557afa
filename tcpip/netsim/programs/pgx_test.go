package programs

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"weir/tcpip/netsim"
)

// A PostgreSQL client queries a server that speaks its protocol.
func TestPGX(t *testing.T) {
	netsim.Run(t, netsim.Seeds(10), func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(server, client, netsim.Path{Delay: 10 * time.Millisecond, Loss: 0.05})
		server.Start(servePostgres)
		config, err := pgx.ParseConfig("postgres://user@server:5432/db?sslmode=disable")
		if err != nil {
			w.Fatal(err)
		}
		config.DialFunc = client.DialContext
		config.LookupFunc = client.LookupHost
		config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		c, err := pgx.ConnectConfig(w.Context(), config)
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close(context.Background()) //nolint:errcheck // the world ends
		var got string
		if err := c.QueryRow(w.Context(), "select name").Scan(&got); got != "weir" || err != nil {
			w.Errorf("got %q and error %v, want the row", got, err)
		}
	})
}

// servePostgres answers every query of one connection with a row.
func servePostgres(h *netsim.Host) error {
	l, err := h.Listen("tcp", ":5432")
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	return answerQueries(c)
}

func answerQueries(c net.Conn) error {
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return nil
		}
		switch m.(type) {
		case *pgproto3.Query:
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("name"), DataTypeOID: 25}}})
			b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("weir")}})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Terminate:
			return nil
		}
	}
	return nil
}
