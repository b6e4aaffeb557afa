package http

import (
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
)

const (
	tlsDir = "tls" // in the directory of a run
	// Every connection of a load with TLS must use these, so that all subjects do the same work.
	// The generator offers this key exchange alone. The version and the cipher are checked.
	keyExchange = "X25519"
	tlsVersion  = "TLS 1.3"
	tlsCipher   = "TLS_AES_128_GCM_SHA256"
)

// TLSFailures returns what differs from the TLS that all subjects with the lab's certificate use.
func TLSFailures(seen *httpload.TLSReport) (wrong workload.Findings) {
	for _, part := range [][3]string{{"version", seen.Version, tlsVersion}, {"cipher", seen.Cipher, tlsCipher}, {"key exchange", seen.KeyExchange, keyExchange}} {
		wrong.Add(part[1] != part[2], "used the TLS %s %s, every subject must use %s", part[0], part[1], part[2])
	}
	return wrong
}
