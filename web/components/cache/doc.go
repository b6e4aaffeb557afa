// Package cache puts a shared HTTP cache (RFC 9111) around a component.
//
// # Function
//
// A request with a usable stored response is answered from memory. Other requests are forwarded to
// the inner component, and the response is stored if the rules allow it. The rules use the
// response's Cache-Control, Expires, Vary and Age, and the request's Cache-Control and
// Authorization.
//
// A stale response is revalidated with its validator, and freshened when the inner component
// answers 304. A request with an unsafe method invalidates its target. The core answers ranges and
// conditions of clients from the stored response. Cache-Status (RFC 9211) reports what the cache
// did.
//
// While one request revalidates a response, others get the stale one if stale-while-revalidate
// allows it (RFC 5861).
//
// # What is stored
//
// The cache stores bodies of bytes, and streams of limited size once they are complete. It stores
// the output of the inner component's filters: around compression it stores compressed bodies, one
// for each value of Accept-Encoding.
//
// It never stores a response that depends on an access decision made inside it ([web.User],
// [web.Personal]: a login, a condition on the client's address), even with Cache-Control: public. A
// condition on a request field adds that field to Vary. Put a login before the cache if all users
// who have one may see the same responses.
//
// # Limitations
//
// The cache stores only responses to GET, and none with a cookie, with trailers, or with a part of
// a resource (206). It does not store bodies that are files: the kernel caches them. A range
// request without a stored response is forwarded, and its response is not stored. Concurrent
// requests for a resource that is not stored are all forwarded.
//
// The lifetime is not guessed unless [Config.Heuristic] is set. Stale responses are not used after
// errors. Private and no-cache with field names apply to the whole response. An unsafe request does
// not invalidate the target of its response's Location.
package cache
