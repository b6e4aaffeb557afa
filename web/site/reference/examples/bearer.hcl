bearer {
  algorithm = "HS256"
  key       = "secret"
  issuer    = "https://login.example.org"
  audience  = "https://api.example.org"
  user      = "email"
  leeway    = "10s"
  realm     = "the API"

  allowed {
    proxy { upstreams = ["http://127.0.0.1:9000"] }
  }
}
