package admin

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/flow"
	"weir/internal/chromium"
	"weir/web"
	"weir/web/components/metrics"
	"weir/web/internal/webtest"
)

var shots = flag.String("shots", "", "write pictures of the page to this folder")

// busy keeps a server busy until the test ends.
func busy(t *testing.T, url string) {
	stop := make(chan struct{}) // closed at the end of the test
	client := &http.Client{Transport: &http.Transport{}}
	var all sync.WaitGroup
	for i, path := range []string{"/", "/", "/js/x.js", "/private/a", "/private/b", "/reports/1"} {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(5+i) * time.Millisecond):
				}
				r, err := http.NewRequest("GET", url+path, nil)
				if err != nil {
					t.Errorf("creating a request to %s: got %v, want none", path, err)
					return
				}
				if n%3 > 0 {
					r.Header.Set("Authorization", "x")
				}
				if resp, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	t.Cleanup(func() { close(stop); all.Wait(); client.CloseIdleConnections() })
}

func stage(name string) string { return fmt.Sprintf(`.stage[data-stage="%s"]`, name) }

func TestPageDrawsTheTopology(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		site, admin := running(t, way, figure3(t))
		b := chromium.Open(t)
		b.Size(1280, 900, false)
		b.Call("Page.navigate", map[string]any{"url": admin.URL + "/"}, nil)
		b.Until(`document.querySelector("#state")?.textContent == "live"`)

		names := chromium.Eval[[]string](b, `[...document.querySelectorAll(".stage")].map((s) => s.dataset.stage)`)
		for _, want := range []string{"access log", "routes", "password", "private files", "refused", "files", "compress", "reports by a program", "pages", "headers"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is not drawn: %q", want, names)
			}
		}
		checkDrawing(t, b)

		b.Until(`document.querySelector('` + stage("pages") + ` .figures').textContent.startsWith("0/s")`)
		busy(t, site.URL)
		b.Until(`parseFloat(document.querySelector('` + stage("pages") + ` .figures').textContent) > 0`)
		b.Until(`[...document.querySelectorAll("text.rate")].some((e) => parseFloat(e.textContent) > 0)`)
		b.Until(`/[1-9].* requests\/s/.test(document.querySelector(".sum").textContent)`)

		b.Click(stage("pages"))
		b.Until(`!document.querySelector("#figures").hidden && document.querySelector("#chosen").textContent == "pages"`)
		b.Until(`/rate\s*[0-9.]+\/s/.test(document.querySelector("#detail dl").innerText)`)
		b.Until(`document.querySelector('` + stage("pages") + `').getAttribute("aria-pressed") == "true"`)
		done := chromium.Eval[string](b, `document.querySelector("#detail dl").innerText`)
		b.Until(fmt.Sprintf(`document.querySelector("#detail dl").innerText != %q`, done))
		b.Press("Escape")
		b.Until(`document.querySelector("#figures").hidden && document.activeElement.dataset.stage == "pages"`)

		b.Until(`(document.querySelector('` + stage("compress") + `').focus(), document.activeElement.dataset.stage == "compress")`)
		b.Press("Enter")
		b.Until(`!document.querySelector("#figures").hidden && document.querySelector("#chosen").textContent == "compress"`)
		if label := chromium.Eval[string](b, `document.querySelector('`+stage("compress")+`').getAttribute("aria-label")`); !strings.HasPrefix(label, "compress: ") {
			t.Errorf("aria-label of the stage compress: got %q, want its name first", label)
		}
		b.Click("summary")
		b.Until(`document.querySelectorAll(".table tbody tr").length > 15`)
		picture(t, b, way)
		checkPhone(t, b)
		checkVisitor(t, b, admin.URL)
	})
}

// TestPageUpdatesEverySecond has a server that is reloaded, goes away and comes back.
func TestPageUpdatesEverySecond(t *testing.T) {
	var sites atomic.Pointer[[]metrics.Site]
	run := func(c web.Component) []metrics.Site {
		h, err := web.New(c, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		return []metrics.Site{{Name: "example", Site: h}}
	}
	first, second, none := run(web.Chain(source("old"), pipe("same"))), run(web.Chain(pipe("same"), source("new"))), []metrics.Site{}
	sites.Store(&first)
	a, err := New(Config{Source: func() []metrics.Site { return *sites.Load() }})
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		a.ServeHTTP(w, r)
	}))
	defer admin.Close()
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": admin.URL + "/"}, nil)
	drawn := func(names string) string {
		return `[...document.querySelectorAll(".stage")].map((s) => s.dataset.stage).join() == "` + names + `"`
	}
	b.Until(drawn("old,same"))
	b.Click(stage("same"))
	b.Until(`!document.querySelector("#figures").hidden`)
	sites.Store(&second)
	b.Until(drawn("same,new") + ` && document.querySelector("#chosen").textContent == "same" && !document.querySelector("#figures").hidden`)
	b.Click(stage("new"))
	b.Until(`document.querySelector("#chosen").textContent == "new"`)
	sites.Store(&first)
	b.Until(drawn("old,same") + ` && document.querySelector("#figures").hidden`)
	away.Store(true)
	b.Until(`document.querySelector("#state").classList.contains("bad") && document.querySelector("#state").textContent.includes("502")`)
	away.Store(false)
	b.Until(`document.querySelector("#state").textContent == "live"`)
	b.Click(stage("old"))
	sites.Store(&none)
	b.Until(drawn("") + ` && document.querySelector("#state").textContent.includes("nothing runs") && document.querySelector("#figures").hidden`)
	sites.Store(&second)
	b.Until(drawn("same,new"))
	b.Click(stage("new"))
	b.Until(`!document.querySelector("#figures").hidden`)
}

// checkDrawing checks that stages do not overlap and are within the drawing.
func checkDrawing(t *testing.T, b *chromium.Page) {
	t.Helper()
	overlaps := chromium.Eval[[]string](b, `(() => {
		const boxes = [...document.querySelectorAll(".stage")].map((s) => ({ name: s.dataset.stage, r: s.querySelector(".box").getBoundingClientRect() }));
		const net = document.querySelector(".net svg").getBoundingClientRect();
		const bad = boxes.filter(({ r }) => r.left < net.left || r.right > net.right || r.top < net.top || r.bottom > net.bottom).map((b) => b.name + " sticks out");
		boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
			if (a.r.left < b.r.right && b.r.left < a.r.right && a.r.top < b.r.bottom && b.r.top < a.r.bottom) bad.push(a.name + " lies on " + b.name);
		}));
		[...document.querySelectorAll(".stage")].forEach((s) => s.querySelectorAll("text").forEach((e) => {
			const box = s.querySelector(".box").getBoundingClientRect(), r = e.getBoundingClientRect();
			if (r.left < box.left || r.right > box.right) bad.push(e.textContent + " is wider than its stage");
		}));
		return bad; })()`)
	if len(overlaps) > 0 {
		t.Errorf("got overlapping stages %q, want none", overlaps)
	}
}

// checkLinks checks that no link runs through the name of the entry or the exit. Idle links must
// stand out from the page (WCAG 1.4.11: 3:1).
func checkLinks(t *testing.T, b *chromium.Page) {
	t.Helper()
	struck := chromium.Eval[[]string](b, `[...document.querySelectorAll("text.end")].filter((e) => {
		const r = e.getBBox();
		return [...document.querySelectorAll("path.link")].some((p) => {
			for (let at = 0; at <= p.getTotalLength(); at++) {
				const { x, y } = p.getPointAtLength(at);
				if (x > r.x && x < r.x + r.width && y > r.y && y < r.y + r.height) return true;
			}
			return false;
		});
	}).map((e) => e.textContent)`)
	if len(struck) > 0 {
		t.Errorf("got links through the names %q, want none", struck)
	}
	contrast := chromium.Eval[float64](b, `(() => {
		const line = document.querySelector("path.link"), classes = line.getAttribute("class");
		const light = (colour) => {
			const [r, g, b] = colour.match(/[0-9.]+/g).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
		};
		line.classList.add("idle");
		const a = light(getComputedStyle(line).stroke), c = light(getComputedStyle(document.querySelector(".net")).backgroundColor);
		line.setAttribute("class", classes);
		return Math.max(a, c) / Math.min(a, c); })()`)
	if contrast < 3 {
		t.Errorf("contrast of an idle link: got %.2f, want at least 3", contrast)
	}
}

// checkPhone checks that the page fits the width of a phone, with the whole drawing as a column.
func checkPhone(t *testing.T, b *chromium.Page) {
	t.Helper()
	b.Size(375, 740, false)
	b.Until(`document.querySelector(".net").scrollWidth <= document.querySelector(".net").clientWidth && document.querySelector(".net svg").clientWidth > 250`)
	if columns := chromium.Eval[int](b, `new Set([...document.querySelectorAll(".stage .box")].map((r) => r.getAttribute("x"))).size`); columns != 1 {
		t.Errorf("on a phone: got %d columns, want 1", columns)
	}
	if wide := chromium.Eval[int](b, `document.documentElement.scrollWidth`); wide > 375 {
		t.Errorf("on a phone of 375 pixels: got a page %d pixels wide, want at most 375", wide)
	}
	checkDrawing(t, b)
	checkLinks(t, b)
	b.Size(375, 740, true)
	checkLinks(t, b)
}

// checkVisitor checks that the browser fetched nothing from other servers and reported no error.
func checkVisitor(t *testing.T, b *chromium.Page, admin string) {
	t.Helper()
	if len(b.Fetched()) < 5 {
		t.Errorf("requests of the browser: got only %q, want at least 5", b.Fetched())
	}
	for _, url := range b.Fetched() {
		if !strings.HasPrefix(url, admin+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("requests of the browser: got %s, want only addresses below %s", url, admin)
		}
	}
	if len(b.Errors()) > 0 {
		t.Errorf("the browser's console has %q, want nothing", b.Errors())
	}
}

// picture takes four screenshots of the page, which must not be empty. With -shots they are written
// to a folder.
func picture(t *testing.T, b *chromium.Page, way flow.Way) {
	t.Helper()
	for _, v := range []struct {
		name          string
		width, height int
		dark          bool
	}{
		{"desktop-light", 1280, 900, false}, {"desktop-dark", 1280, 900, true}, {"phone-light", 375, 740, false}, {"phone-dark", 375, 740, true},
	} {
		b.Size(v.width, v.height, v.dark)
		b.Until(fmt.Sprintf(`innerWidth == %d && matchMedia("(prefers-color-scheme: dark)").matches == %v`, v.width, v.dark))
		shot := b.Shot()
		p, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			t.Fatal(err)
		}
		if r, _, _, _ := p.At(2, 2).RGBA(); (r < 0x8000) != v.dark {
			t.Errorf("%s: got the background %v, want a dark one: %t", v.name, p.At(2, 2), v.dark)
		}
		if *shots != "" {
			if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%s.png", way, v.name)), shot, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The links of all arms meet at the exit, whose name they pass.
func TestLinksPassTheNameOfTheExit(t *testing.T) {
	arms, err := web.Routes(web.Arm{Pattern: "/js/", Component: source("files")}, web.Arm{Pattern: "/", Component: source("pages")})
	if err != nil {
		t.Fatal(err)
	}
	_, admin := running(t, flow.Chain, arms)
	b := chromium.Open(t)
	b.Size(360, 640, false)
	b.Go(admin.URL + "/")
	b.Until(`document.querySelectorAll(".stage").length == 3`)
	checkLinks(t, b)
}
