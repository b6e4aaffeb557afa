server {
  listen = ":443"

  tls {
    acme   = ["example.org", "www.example.org"]
    agreed = true
    email  = "admin@example.org"
    store  = "certificates"
    ca     = "https://acme-staging-v02.api.letsencrypt.org/directory"
  }
  tls {
    self_signed = true
    names       = ["app.localhost", "192.168.0.10"]
  }
}

files { dir = "www" }
