text { text = "hello\n" }
