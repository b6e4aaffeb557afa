security {
  frame_ancestors = "https://example.org"
  referrer        = "no-referrer"
  hsts            = "720h"
  subdomains      = true
}
files { dir = "www" }
