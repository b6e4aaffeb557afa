limit_body { max = "10MB" }
proxy { upstreams = ["http://127.0.0.1:9000"] }
