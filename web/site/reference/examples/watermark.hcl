files { dir = "www" }
watermark {
  image      = "mark.png"
  place      = "top-left"
  margin     = 8
  opacity    = 0.5
  min_side   = 200
  quality    = 90
  max_bytes  = 4194304
  max_pixels = 8000000
  workers    = 2
  queue      = 16
}
