route "/" {
  proxy "app" {
    upstreams  = ["http://10.0.0.1:8080", "http://10.0.0.2:8080"]
    weights    = { "http://10.0.0.1:8080" = 3, "http://10.0.0.2:8080" = 1 }
    policy     = "least connections"
    host       = "upstream"
    raw_path   = true
    user_field = "X-Remote-User"

    dial_timeout = "1s"
    head_timeout = "30s"
    idle_timeout = "30s"
    retries      = 1

    max_fails        = 5
    aside            = "30s"
    health_path      = "/healthz"
    health_interval  = "5s"
    health_threshold = 3

    width = 512
    queue = 1024
  }
}
route "/carts/" {
  proxy "carts" {
    upstreams = ["http://10.0.0.3:8080", "http://10.0.0.4:8080"]
    policy    = "hash"
    hash_by   = "cookie session"
  }
}
