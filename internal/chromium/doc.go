// Package chromium drives a headless Chromium from tests, by its DevTools protocol.
//
// One browser serves all tests of a package: the first [Open] starts it, and [Main] ends it after
// the last test. Each [Page] is in a browser context of its own, so that it shares nothing with
// others (no storage, no cookies), and is closed when its test ends.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(chromium.Main(m)) }
//
//	func TestPage(t *testing.T) {
//		p := chromium.Open(t) // skips the test if there is no Chromium
//		p.Go("http://" + addr + "/")
//		p.Until(`document.querySelector("#state").textContent == "live"`)
//	}
//
// The browser resolves no host name and so reaches only literal addresses. Requests to other hosts
// fail, and are in [Page.Fetched].
//
// # Limitations
//
// A Page belongs to the goroutine of its test. Keys are those with a name ("Enter", "Tab",
// "Escape", "ArrowUp") and single letters.
package chromium
