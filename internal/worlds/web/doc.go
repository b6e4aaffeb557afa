// Package web tests the reverse proxy of package weir/web/components/proxy, behind the server of
// package weir/web/server, in virtual networks (package tcpip/netsim). Its upstreams crash and
// come back, answer late, stall in the middle of a body, close idle connections and fail their
// health checks, on paths that lose packets. It contains only tests.
//
// The properties:
//
//   - A response of status 200 is that of its own request, and complete; one that is not complete
//     is an error for its client.
//   - An order (POST) is carried out at most once, and exactly once if its client got 200.
//   - Without a fault, all requests are answered by 200.
//   - A request is answered within the proxy's time limits.
//   - An upstream that has crashed is soon "down", one that has come back is soon "up", and one
//     that is down gets no requests.
//   - In the end no exchange is in progress, and nothing is left: no goroutine, no connection.
//
// WEIR_WEB_WORLDS is the number of seeds.
//
// # Limitations
//
// The server runs by the concurrency model Goroutine: the event loops and coroutines of package
// serve need a kernel's descriptor, and a wait in epoll would stop the virtual time. So splice is
// not tested here.
package web
