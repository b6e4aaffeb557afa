server {
  listen = ":443"

  tls {
    acme   = ["example.org", "www.example.org"]
    agreed = true
    email  = "admin@example.org"
    store  = "certificates"
    ca     = "https://acme-staging-v02.api.letsencrypt.org/directory"
  }
}

files { dir = "www" }
