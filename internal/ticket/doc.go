// Package ticket keeps the keys that encrypt the session tickets of TLS (RFC 5077, and RFC 8446,
// section 4.6.1), so that clients resume their sessions in other processes and after a restart.
//
// A key encrypts tickets for twelve hours. It decrypts them for the seven days that a ticket is
// valid. A new key is stored some minutes before it is used, so that all processes with the same
// file have it by then.
//
// # Limitations
//
// Processes see each other's new keys once a minute. Machines share keys only if they share the
// file.
package ticket
