// sends the one form of the page that tells a provider who leaves; without scripts its button does
document.getElementById("leave").submit();
