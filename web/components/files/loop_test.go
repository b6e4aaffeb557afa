package files

import (
	"io"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

// TestTheFileSystemIsUsedOffTheLoop requires that no call of the file system runs on an event loop,
// and that an exchange without one stays there.
func TestTheFileSystemIsUsedOffTheLoop(t *testing.T) {
	dir := tree(t, map[string]string{"page.html": "page", "index.html": "index", "sub/a.txt": "a", "large.bin": string(make([]byte, 4096))})
	for _, c := range []struct {
		config       Config
		method, path string
		cold, warm   int // exchanges that left the loop
	}{
		{Config{}, "GET", "/page.html", 1, 0},
		{Config{}, "HEAD", "/page.html", 1, 0},
		{Config{}, "GET", "/", 1, 0},
		{Config{List: true}, "GET", "/sub/", 1, 1},
		{Config{}, "GET", "/sub", 1, 1},
		{Config{}, "GET", "/none", 1, 1},
		{Config{CacheFile: "1KB"}, "HEAD", "/large.bin", 1, 1},
		{Config{Cache: "0"}, "GET", "/page.html", 1, 1},
		{Config{NotFound: "/page.html"}, "GET", "/none", 1, 1},
		{Config{Fallback: []string{"/page.html"}}, "GET", "/none", 1, 1},
		{Config{Fallback: []string{"next"}}, "POST", "/none", 1, 1},
		{Config{}, "POST", "/page.html", 0, 0},
	} {
		c.config.Dir = dir
		component, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		h, err := web.New(component, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() int { return webtest.LeavesLoop(t, h, c.method, c.path) }
		age(t, dir+"/page.html", time.Minute)
		age(t, dir+"/index.html", time.Minute)
		cold := ask()
		component.(*files).epoch = time.Now().Add(time.Hour) // the last check stays recent
		if warm := ask(); cold != c.cold || warm != c.warm {
			t.Errorf("%s %s with %+v: left the loop %d times, then %d, want %d and %d", c.method, c.path, c.config, cold, warm, c.cold, c.warm)
		}
		h.Close()
		component.(io.Closer).Close()
	}
}

// TestACheckForChangesRunsOffTheLoop asks for a cached file whose last check is not recent.
func TestACheckForChangesRunsOffTheLoop(t *testing.T) {
	dir := tree(t, map[string]string{"page.html": "page"})
	age(t, dir+"/page.html", time.Minute)
	c, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.(io.Closer).Close()
	f := c.(*files)
	h, err := web.New(c, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := f.load(new(web.Conn), "/page.html"); err != nil {
		t.Fatal(err)
	}
	f.epoch = f.epoch.Add(-time.Minute)
	for _, want := range []int{1, 0} {
		if want == 0 {
			f.epoch = f.epoch.Add(time.Hour) // the last check stays recent
		}
		if got := webtest.LeavesLoop(t, h, "GET", "/page.html"); got != want {
			t.Errorf("left the loop %d times, want %d", got, want)
		}
	}
}
