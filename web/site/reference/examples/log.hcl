log {
  file   = "access.log"
  format = "json"
  buffer = 65536
  flush  = "100ms"
}
files { dir = "www" }
