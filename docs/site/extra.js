// The theme wraps wide tables in elements that scroll sideways; the keyboard has to reach them.
document$.subscribe(() => {
  const reach = () => document.querySelectorAll(".md-typeset__scrollwrap").forEach((wrap) => { wrap.tabIndex = 0; });
  reach();
  new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
});
