// Package cache is a shared cache of RFC 9111 around a part of a composition.
//
// # What it does
//
// A request for which a response is kept goes around the part; another goes through it, and what
// comes out is kept if it may be. What may be kept, for how long, and for which requests, say the
// response's Cache-Control, Expires, Vary and Age, and the request's Cache-Control and
// Authorization. What is kept and no longer fresh is asked for again with its validator, and kept
// on if the part answers
//  304. A request with an unsafe method lets go of what is kept for its target. Ranges and
//     conditions of clients are answered from what is kept:
//
// by the core. The field Cache-Status (RFC 9211) says what happened.
//
// While one request asks again for what has become stale, others get it as it is, if its
// stale-while-revalidate (RFC 5861) allows that.
//
// # What it keeps
//
// Bytes, and streams of limited size once they have been written to their end. Of what the part's
// own filters change it keeps what comes out of them: a cache around compression keeps compressed
// bodies, one for each value of Accept-Encoding.
//
// What a component inside the part has let a client see ([web.User], [web.Personal]: a login, a
// condition on the client's address) is never kept, even if it is public by its Cache-Control. A
// condition on a field of the request adds that field to Vary. Put a login before the cache if all
// who have one may see the same.
//
// # Limitations
//
// Only responses to GET are kept, and none with a cookie, with trailers, or in parts (206). Bodies
// that are files are not: the kernel has them in memory. Requests for ranges that nothing is kept
// for pass through and leave nothing. Several requests for what is not kept all go through.
// Freshness is not guessed unless asked for. Stale responses are not used for errors. Private and
// no-cache with names of fields mean the whole response. What an unsafe request's Location names is
// not let go of.
package cache
