// sends the only form of the page, which signs the user out at a provider; without scripts its button does
document.getElementById("leave").submit();
