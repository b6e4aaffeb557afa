# A reverse proxy before an application on two machines. WebSockets pass through it.
server {
  listen = ":8080"
  admin  = "127.0.0.1:9393" # shows the state of the upstreams
}

log { file = "access.log" }
metrics {}
request_id {}
limit_body { max = "10MB" }

error_pages {
  files = { "502" = "sorry.html", "503" = "sorry.html", "504" = "sorry.html" }
}

# The first machine is three times as fast. To take one out of service, give it the weight 0: a
# saved file takes effect within a second, and requests in progress complete.
proxy "application" {
  upstreams = ["http://10.0.0.1:9000", "http://10.0.0.2:9000"]
  weights   = { "http://10.0.0.1:9000" = 3, "http://10.0.0.2:9000" = 1 }
  policy    = "least connections"

  health_path      = "/healthz"
  health_interval  = "2s"
  health_threshold = 2
  max_fails        = 3
  aside            = "10s"
}

compress {}
