"""A visitor reads why an upload was refused, in real Chromium."""

from playwright.sync_api import expect

from pages.work import middleware


def test_a_visitor_reads_why_an_upload_was_refused(opened, address):
    page = opened(address, {}, viewport={"width": 1280, "height": 900})
    expect(page.locator("canvas.marks").first).to_be_visible(timeout=120_000)
    page.goto(f"{address}data")
    page.get_by_text("Upload data").click(timeout=60_000)
    picker = page.get_by_test_id("stFileUploader").filter(has_text="Your table")
    # A hostile page of the same tab: files that nothing reads.
    with page.expect_request("**/_stcore/upload_file/**") as request:
        small = {"name": "t.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,x\n2,y\n"}
        picker.locator("input[type=file]").set_input_files(small)
    url = request.value.url.rsplit("/", 1)[0]
    statuses = page.evaluate(
        """async (url) => {
          const token = document.cookie.match(/_streamlit_xsrf=([^;]+)/)[1];
          const statuses = [];
          for (let n = 0; n < 4; n += 1) {
            const form = new FormData();
            form.append("f", new Blob([new Uint8Array(49e6)]), "t.csv");
            const headers = { "X-Xsrftoken": decodeURIComponent(token) };
            statuses.push(await fetch(`${url}/${n}`, { method: "PUT", headers,
              body: form }).then((answer) => answer.status, () => 0));
          }
          return statuses;
        }""",
        url,
    )
    assert statuses[:3] == [204] * 3 and statuses[3] in (413, 0)
    alert = page.get_by_test_id("stAlert").filter(has_text="may hold 150 MB")
    expect(alert).to_be_visible(timeout=60_000)
    assert f"{middleware.SESSION_BYTES / 1e6:.0f} MB" in alert.inner_text()
