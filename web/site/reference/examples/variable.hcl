variable "port" {
  default = 8080
}
variable "upstream" {
  default = "http://127.0.0.1:9000"
  env     = "UPSTREAM"
}

server { listen = ":${var.port}" }

proxy { upstreams = [var.upstream] }
