cache {
  memory    = "256MB"
  largest   = "4MB"
  heuristic = true

  proxy { upstreams = ["http://127.0.0.1:9000"] }
}
