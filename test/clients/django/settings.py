import os

SECRET_KEY = "of no use here"
INSTALLED_APPS = ["shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        **{key: os.environ["PG" + name] for key, name in
           [("HOST", "HOST"), ("PORT", "PORT"), ("USER", "USER"), ("PASSWORD", "PASSWORD"), ("NAME", "DATABASE")]},
        "TEST": {"TEMPLATE": os.environ["FLAKEID_TEMPLATE"]},
    }
}
