document.querySelector("h1").textContent.trim();
