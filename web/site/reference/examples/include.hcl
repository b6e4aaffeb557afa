include "common.hcl" {}

files { dir = "www" }
