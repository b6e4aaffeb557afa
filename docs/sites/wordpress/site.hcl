# WordPress, or another application with a front controller, by FastCGI.
server { listen = ":8080" }

log { file = "access.log" }
limit_body { max = "64MB" }

# Forms: a client that guesses passwords is slowed down.
when "forms" {
  method = ["POST"]
  limit_rate {
    rate  = 30
    per   = "1m"
    burst = 10
  }
}

# Nothing that visitors have uploaded is run or served as a program.
route "/wp-content/uploads/" {
  files "uploads" {
    dir  = "wordpress"
    hide = ["*.php*", "*.phtml*", "*.phar*", "*.htm*", "*.svg"]
  }
}

# An old interface that is used to guess passwords. A path below a script's runs the script, too.
route "/xmlrpc.php" {
  status { code = 403 }
}
route "/xmlrpc.php/" {
  status { code = 403 }
}

# Files as they are, scripts by PHP, and index.php for every other path.
route "/" {
  files "static" {
    dir      = "wordpress"
    fallback = "next"
  }
  fastcgi "PHP" {
    address  = "unix:/run/php/php-fpm.sock"
    dir      = "wordpress"
    split    = ".php"
    fallback = "/index.php"
  }
}

compress {}
