"""Function words, which say little about a text's subject: articles, pronouns, question words, auxiliaries.

They are never dropped: "to be or not to be" must find itself. In a query with content words they have a low weight, since the function
words of a question are often rarer in the texts than the words that matter. The lists are short on purpose, since an index knows by itself
which other words are frequent.
"""

from collections.abc import Iterable
from functools import cache

from feedmill.core.text.wordforms import FOLDED

_WORDS = {
    "en": """a about after again all also am an and any are as at be because been before being between both but by can could did do does
        doing during each exist exists few for from had has have having he her here him his how i if in into is it its just may me might
        more most must my no nor not of off on one only or other our out over own same shall she should so some such than that the their
        them then there these they this those through to too under until up us very was we were what when where which while who whom whose
        why will with within without would you your find give tell please""",
    "de": """aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein dem den denn der des dessen die dies diese
        diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euer für gegen gibt haben hat hatte
        hatten ich ihm ihn ihr ihre ihrem ihren im in ins ist ja jede jeder kann kein keine können man mein mit muss nach nicht nichts
        noch nur ob oder ohne sehr sein seine seinem seinen sich sie sind so über um und uns unser unter vom von vor wann war waren warum
        was welche welchem welchen welcher welches wem wen wenn wer werden weshalb wessen wie wieso wieviel wird wo wohin woher wurde
        wurden zu zum zur zwischen""",
    "fr": """à afin ai au aucun aussi autre aux avait avant avec avoir c ce ceci cela celle celui ces cet cette ceux chaque chez comme
        comment d dans de depuis des dont donc du elle elles en entre est et été être eu eux fait il ils j je l la le les leur leurs lors
        lui m ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas pendant plus pour pourquoi qu quand que quel quelle
        quelles quels quelque qui quoi s sa sans se selon ses si son sont sous sur t ta te tes toi ton tous tout toute très tu un une
        vers vos votre vous y combien lequel laquelle""",
    "es": """a al algo algún alguna ante antes aquel aquella aunque cada como cómo con contra cual cuál cuales cuáles cuando cuándo cuanto
        cuánto cuántos cuántas de del desde donde dónde durante e el él ella ellas ellos en entre era es esa ese eso esta está este esto
        están fue fueron ha había han hasta hay la las le les lo los más me mi mientras muy nada ni no nos o os otra otro para pero por
        porqué qué que quien quién quienes se según ser si sí sido sin sobre son su sus también tan te tiene todo todos tu un una uno unos
        y ya yo""",
    "it": """a ad agli ai al alla alle allo anche che chi ci come con contro cui da dagli dai dal dalla dalle dei del della delle dello di
        dopo dove durante e è ed era erano essere fra fu gli ha hanno i il in io l la le lei li lo loro ma mi mio ne negli nei nel nella
        nelle no noi non o ogni per perché più prima qual quale quali quando quanta quante quanti quanto quella quelle quelli quello
        questa queste questi questo sei se senza si sia sono sopra su sua sue sul sulla suo sui tra tu tutti tutto un una uno vi voi""",
    "pt": """a ao aos aquela aquele aqui as às até cada com como da das de dela dele depois do dos durante e é ela elas ele eles em entre
        era essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós num
        numa o onde os ou para pela pelas pelo pelos por porque porquê qual quais quando quanto quantos quantas que quê quem se sem ser
        seu seus são só sobre sua suas também tem tinha todo todos tu um uma você""",
    "nl": """aan al alle als altijd andere bij daar dan dat de der deze die dit doch door dus een en er ge geen had hebben heb heeft hem
        het hier hij hoe hoeveel hun ik in is ja je kan kon maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder
        ons ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat welk welke werd werden
        wie wiens wil worden wordt zal ze zelf zich zij zijn zo zonder zou""",
    "sv": """alla allt att av blev bli blir bara de dem den denna deras dess det detta dig din där då efter ej eller en er ett från för
        ha hade han hans har hon hur hur här i icke ingen inte är jag ju kan kunde man med mellan men mig min mot mycket ni nu när någon
        något och om oss på samma sedan sig sin sina som så till under upp ut utan vad var varför vart vem vems vi vid vilka vilken vilket
        åt över""",
    "da": """af alle at blev blive bliver da de dem den denne der deres det dette dig din du efter eller en end er et for fra ham han hans
        har havde hende hun hvad hvem hvilken hvilke hvilket hvis hvor hvordan hvorfor hvornår i ikke ind jeg jo kan man mange med meget
        men mig min mod mit mod ned noget nogle nu når og også om op os over på selv sig sin skal som så til ud under var vi vil være
        været""",
    "no": """alle at av ble bli blir bare både da de deg dem den denne der deres det dette din du eller en enn er et etter for fra før ha
        hadde han hans har hun hva hvem hvilke hvilken hvilket hvis hvor hvordan hvorfor i ikke ja jeg kan man mange med meg men mer min
        mot mye må ned nei noe noen nå når og også om opp oss over på seg selv si sin skal som så til ut under var vi vil være vært""",
    "fi": """ei eivät ja joka jos jotka kanssa kuin kuinka kuka keitä ketkä kun kunka me mikä mitä mitkä milloin minkä minä miksi missä
        mistä mihin millainen montako mutta myös ne niin nämä oli olivat olla on ovat se sekä sen siinä sitä tai tämä tämän että vai voi
        joita jonka jossa hän he""",
    "pl": """a aby ale albo bez być był była było były co czy czyj dla do gdy gdzie go i ich ile im ja jak jaka jaki jakie jakiego jakim
        jakich jako je jego jej jest jestem już kiedy kim kogo która które którego której który których którym którzy kto ma między może
        na nad nie o od on ona one oni oraz po pod przez przy są się ta tak także tam te tego tej ten to tu tych tym w we więc z za ze że
        dlaczego czym""",
    "cs": """a aby ale ani ano bez by byl byla bylo byli být co což do i jak jaká jaké jaký jako je jeho její jejich jen jsem jsou k kde
        kdo kdy která které kterého který kteří která ke kolik má mezi na nad ne nebo o od on ona po pod podle pro proč proto před při s
        se si své ta tak také ten to tomu toho u v ve více z za ze že čí""",
    "ro": """a al ale am au care că ce cel cea cei cele cine când cât câte câți cu cum căruia de deci deși din dintre după ea ei el era este
        eu fi fost i în între la le li lor mai mult nu o ori pe pentru prin sa sau să se sunt și spre sub un una unde unei unor unui""",
    "hu": """a az be ben csak de el és egy ez ezek hány hogy hogyan hol honnan hová ha is ki kik kit le lesz meg mely melyik mert mi mik
        mikor milyen miért mit nagyon nem nincs ő ők pedig s sem szerint van vannak volt voltak vagy""",
    "tr": """acaba ama bir bu bunlar da daha de değil diye en gibi hangi hangisi hem hep hiç için ile ise kaç kadar ki kim kime kimin mi
        mı mu mü nasıl ne neden nedir nerede nereden niçin o olan olarak oldu olduğu onlar onun sonra şu tarafından ve veya ya yani""",
    "id": """ada adalah agar akan antara apa apakah atau bagaimana bagi bahwa banyak berapa bisa dalam dan dapat dari dengan di dia harus
        ini itu juga kami kapan karena ke kepada kita lebih mana mengapa mereka oleh pada para saja saya sebagai siapa sudah tersebut
        tidak untuk yang""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всех вы где да для до его ее если есть еще же за и из или
        им их к как какая какие каким каких какого каком какой какую ко когда кого кем ком кому которая которые который которых которого
        кто куда ли мне может мы на над не него нее нет ни но о об однако он она они оно от откуда по под почему при про с сколько со та
        так также такой там те тем то того тоже той только том ты у уже чего чей чем что чтобы чье чья эта эти это этого этой этом этот
        я является""",
    "uk": """а але без би був була були було в від він вона вони все де для до його її з за і із їх й як яка яке який які якого якій яким
        коли кого кому ким куди ми на не ні о об по при про що щоб скільки та так також те той у хто чи чий чому це цей ця ці я є""",
    "el": """αλλά αν από αυτά αυτή αυτό αυτός για δεν είναι είχε ένα ένας έχει η ήταν θα και κατά με μετά μη να ο οι όπως όταν ποια ποιά
        ποιες ποιο ποιοι ποιον ποιος ποιου πόσα πόσες πόσο πόσοι πότε που πού προς πως πώς σε στα στη στην στις στο στον τα τη την της τι
        τις το τον του τους των γιατί ως""",
    "ar": """أن إلى إن أو أي أين إذا ألا أما التي الذي الذين اللتي على عن عند عندما في قد كان كانت كم كما كيف كل لا لقد لم لماذا لن
        ليس ما ماذا
        مع متى من منذ هل هم هو هي هذا هذه هذان هناك و ولا وهو وهي أية بين بعد قبل حتى ذلك تلك بأن لأن ثم""",
    "fa": """از است اما آن آنها این با بر برای بود بودند به تا چرا چه چگونه چند چیست در را شد شده که کجا کدام کسی کی ما می نه نیست ها هر هم
        هستند همه و یا یک""",
    "he": """את אל או אם אני אנחנו איך איפה איזה אילו בין גם הוא היא היה היו הם הן זה זו זאת יש כי כל כמה לא למה מה מי מתי של על עם רק
        שלו שלה אך אבל מדוע כיצד היכן""",
    "hi": """अपने अब अभी आदि इन इस इसका इसके इसमें इसे उन उनका उनके उनकी उस उसका उसके उसकी उसने एक एवं और कब कर करता करते करना
        करने कहां कहाँ
        का काफी कि किन किस किसका किसके किसकी किसने किसे किसी की कितना कितनी कितने कुछ के को कोई कौन कौनसा कौन-सा क्या क्यों गया गई गए जब
        जहां जा जिन जिस जिसके जिसे जो तक तब तो था थी थे द्वारा न नहीं ने पर फिर बहुत बाद भी में मैं यदि यह यहां यही या ये रहा रही रहे वह
        वहां वाला वाले वाली वे साथ से सकता सकते सकती ही हुआ हुई हुए है हैं हो होता होती होते होना हूं कैसे कैसा""",
    "vi": """ai bao bằng bị các cái cho có của cũng đã đang để đến đi đó được gì hay khi không là làm lại lên mà một nào nên ở ra rằng sao
        sẽ tại thế thì trong từ và vào về vì với nhiêu đâu những này""",
    "ko": "및 또는 그리고 그 이 저 것 수 등 무엇 누구 언제 어디 왜 어떻게 어느 몇 무슨 어떤",
}


@cache
def list_function_words(language: str) -> frozenset[str]:
    """Returns the function words of a language, folded; none for a language without a list."""
    words = _WORDS.get({"nb": "no", "nn": "no"}.get(language, language), "")
    return frozenset(FOLDED[word] for word in words.lower().replace("-", " ").split())


def find_function_words(words: Iterable[str], languages: Iterable[str]) -> frozenset[str]:
    """Returns which folded words of a query are function words: by the language that has most of them, the earlier one among equals.

    Shape: none where nothing else would be left of the query.
    """
    given = frozenset(words)
    best: frozenset[str] = frozenset()
    for language in languages:
        found = given & list_function_words(language)
        if len(found) > len(best):
            best = found
    return best if best != given else frozenset()
