// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// repository is where the binary, the examples and the screenshots are.
const repository = "../.."

// screenshots are for a person to look at.
var screenshots = filepath.Join(repository, "bin", "report")

// written simulates an example, and returns its page.
func written(t *testing.T, example string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), example+".html")
	all := append([]string{"simulate", filepath.Join(repository, "examples", example), "--report", file}, args...)
	out, err := exec.CommandContext(t.Context(), filepath.Join(repository, "bin", "noderotation"), all...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("simulate %s: %v\n%s", example, err, out)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("simulate %s wrote no page: %v\n%s", example, err, out)
	}
	return file
}

// browser is the one that every test opens a tab of: one with a fresh profile.
var browser context.Context

func TestMain(m *testing.M) { os.Exit(withBrowser(m)) }

func withBrowser(m *testing.M) int {
	profile, err := os.MkdirTemp("", "noderotation-report-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(profile) }()
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-background-networking", true), chromedp.UserDataDir(profile))...)
	defer stop()
	var leave context.CancelFunc
	browser, leave = chromedp.NewContext(allocator) //nolint:fatcontext // made once, for all tests
	defer leave()
	if err := chromedp.Do(browser, chromedp.Navigate("about:blank")); err != nil {
		panic(fmt.Sprintf("the browser does not start; is chromium installed? %v", err))
	}
	return m.Run()
}

// screen is how a person looks at the page.
type screen struct {
	width, height int64
	phone, dark   bool
}

var (
	desk  = screen{width: 1280, height: 900}
	phone = screen{width: 390, height: 844, phone: true}
)

// tab is a page that is open in the browser, and what it did that it should not.
type tab struct {
	context.Context
	t *testing.T

	mu     sync.Mutex
	faults []string
}

// opened opens a page in a tab of its own.
func opened(t *testing.T, file string, s screen) *tab {
	t.Helper()
	ctx, leave := chromedp.NewContext(browser)
	t.Cleanup(leave)
	ctx, expire := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(expire)
	page := &tab{Context: ctx, t: t}
	if err := chromedp.Listen(ctx, page.watch); err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	called(page, network.Enable, network.EnableParams{})
	called(page, runtime.Enable, cdp.Empty{})
	called(page, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.phone,
	})
	called(page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	page.do(chromedp.Navigate("file://"+absolute), until(`document.querySelector("#gantt svg")`))
	t.Cleanup(func() {
		page.mu.Lock()
		defer page.mu.Unlock()
		for _, fault := range page.faults {
			t.Error(fault)
		}
	})
	return page
}

// watch takes down every request that leaves the page, and every error of its script.
func (p *tab) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") {
			p.faults = append(p.faults, "the page asks the network for "+url)
		}
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, "the script fails: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			p.faults = append(p.faults, "the console has an error")
		}
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.Context, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for an expression to be true.
func until(expression string) chromedp.Action[chromedp.Void] {
	poll := chromedp.Poll[bool]("Boolean(" + expression + ")")
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := poll(ctx, target)
		return chromedp.Void{}, err
	}
}

// called sends a command of the protocol.
func called[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.Context, command, params); err != nil {
		p.t.Fatal(err)
	}
}

// asked evaluates an expression in the page.
func asked[T any](p *tab, expression string) T {
	p.t.Helper()
	answer, err := chromedp.Run(p.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// photographed saves the whole page.
func (p *tab) photographed(name string) {
	p.t.Helper()
	image, err := chromedp.Run(p.Context, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.MkdirAll(screenshots, 0o750); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), image, 0o600); err != nil {
		p.t.Fatal(err)
	}
}
