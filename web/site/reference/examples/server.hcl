server {
  listen      = ":443"
  admin       = ":9393"
  admin_users = "users"
  run         = "network"
  engine      = "http1"
  model       = "loop"
  trusted     = ["10.0.0.0/8"]

  max_connections            = 20000
  max_connections_per_client = 500
  max_header_bytes           = 32768
  read_header_timeout        = "10s"
  idle_timeout               = "2m"
  drain_timeout              = "30s"

  ticket_keys = ".ticket-keys"

  tls {
    cert  = "example.org.crt"
    key   = "example.org.key"
    http3 = true
  }
}

files { dir = "www" }
