files { dir = "www" }
resize {
  widths     = [320, 640, 1280]
  param      = "width"
  quality    = 75
  cache      = "256MB"
  max_bytes  = 16777216
  max_pixels = 33554432
  workers    = 2
  queue      = 16
}
