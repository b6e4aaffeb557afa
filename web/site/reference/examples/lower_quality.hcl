files { dir = "www" }
lower_quality {
  when       = "always"
  quality    = 60
  max_side   = 800
  max_bytes  = 4194304
  max_pixels = 8000000
  workers    = 2
  queue      = 16
}
